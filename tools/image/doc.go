// Package image is the tools that make pictures: image_generate and image_generate_providers_list.
//
// It owns what a picture must be before it is kept and sent. It leaves to others who makes it (tools.ImagePort) and how it
// reaches the chat (tools.FilePort).
package image

import "nod/tools"

// Tools are the tools of this package.
func Tools() []tools.Tool { return []tools.Tool{generate(), providers()} }
