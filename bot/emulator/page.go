package emulator

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"slices"
)

//go:embed page
var pageFiles embed.FS

// PageOptions of a chat page.
type PageOptions struct {
	Key    string   // what opens the page; NewKey makes one
	Hosts  []string // the exact Host values to answer to, such as 127.0.0.1:8080 and localhost:8080
	Notice string   // a line above the chat, such as which model answers
	// Suggestions are texts to send with a tap. They belong to the page: nothing of them comes from the bot.
	Suggestions []string
}

// NewKey returns 128 random bits for PageOptions.Key, in hexadecimal.
func NewKey() string {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails (crypto/rand)
	return hex.EncodeToString(key)
}

// keyHeader carries the key for programs, which have no cookie. A foreign page can't set it without asking first.
const keyHeader = "X-Nod-Key"

// Why a request is turned away; a person may read it.
const (
	refusedHost   = "This server does not answer to that host name."
	refusedOrigin = "This request comes from another site."
	refusedKey    = "The key is missing or wrong."
	refusedHint   = "Open the address that nod printed in the terminal."
)

// securityHeaders go with every answer. Scripts and styles come from the embedded files only.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; " +
		"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cache-Control":                "no-store",
}

// page serves the chat of one person to one browser.
type page struct {
	person *Person
	opts   PageOptions
	cookie string
	mux    *http.ServeMux
}

// NewPage returns the handler of a web page on which somebody is that person: http://<host>/?key=<key> opens it. Every
// request must name one of the hosts, carry the key (in the address on the first one, then in a SameSite=Strict cookie, or
// in the X-Nod-Key header), and not come from another site; otherwise it is refused with 403 and changes nothing.
// The page's event stream lasts as long as its request: end it with http.Server.Close or a base context that is cancelled.
func NewPage(p *Person, o PageOptions) http.Handler {
	sum := sha256.Sum256([]byte(o.Key))
	g := &page{person: p, opts: o, mux: http.NewServeMux()}
	g.cookie = "nod_" + hex.EncodeToString(sum[:4]) // cookies ignore ports: two demos must not share a name
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the embedded folder has that name
	}
	static := http.FileServerFS(files)
	g.mux.Handle("GET /{$}", static)
	g.mux.Handle("GET /static/", http.StripPrefix("/static", static))
	g.mux.HandleFunc("GET /events", g.events)
	g.mux.HandleFunc("GET /file/{id}", g.file)
	g.mux.HandleFunc("POST /upload", g.upload)
	g.mux.HandleFunc("POST /send", action(g.send))
	g.mux.HandleFunc("POST /press", action(g.press))
	g.mux.HandleFunc("POST /edit", action(g.edit))
	g.mux.HandleFunc("POST /delete", action(g.remove))
	g.mux.HandleFunc("POST /react", action(g.react))
	g.mux.HandleFunc("POST /stop", action(g.stop))
	return g
}

func (g *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
	if why := g.refusal(r); why != "" {
		http.Error(w, why+"\n"+refusedHint, http.StatusForbidden)
		return
	}
	if g.opens(r) {
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.opts.Key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	g.mux.ServeHTTP(w, r)
}

// opens tells that r is the first request, with the key in its address.
func (g *page) opens(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" && g.isKey(r.URL.Query().Get("key"))
}

// refusal says why r is turned away, "" when it is let in.
func (g *page) refusal(r *http.Request) string {
	if !slices.Contains(g.opts.Hosts, r.Host) {
		return refusedHost
	}
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	own := origin == "http://"+r.Host
	if origin != "" && !own {
		return refusedOrigin
	}
	// A link in a chat, an editor or a web terminal may open the page, and nothing else.
	followed := g.opens(r) && r.Header.Get("Sec-Fetch-Dest") == "document"
	if site != "" && site != "same-origin" && site != "none" && !followed {
		return refusedOrigin
	}
	if g.opens(r) || g.isKey(r.Header.Get(keyHeader)) {
		return ""
	}
	c, err := r.Cookie(g.cookie)
	if err != nil || !g.isKey(c.Value) {
		return refusedKey
	}
	if r.Method != http.MethodGet && !own && site != "same-origin" {
		return refusedOrigin // a browser that sends cookies sends one of the two
	}
	return ""
}

func (g *page) isKey(key string) bool {
	return g.opts.Key != "" && subtle.ConstantTimeCompare([]byte(key), []byte(g.opts.Key)) == 1
}
