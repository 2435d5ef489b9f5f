package outline

import (
	"regexp"
	"sync"
)

// form is a regular expression that is made when it is first needed: this program is started anew for each command and each
// outline, which would pay for all of them.
type form struct{ made func() *regexp.Regexp }

func formOf(source string) *form {
	return &form{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(source) })}
}

func (f *form) Match(b []byte) bool        { return f.made().Match(b) }
func (f *form) MatchString(s string) bool  { return f.made().MatchString(s) }
func (f *form) FindString(s string) string { return f.made().FindString(s) }
func (f *form) FindStringSubmatch(s string) []string {
	return f.made().FindStringSubmatch(s)
}

func (f *form) FindStringSubmatchIndex(s string) []int {
	return f.made().FindStringSubmatchIndex(s)
}

func (f *form) ReplaceAllString(s, by string) string { return f.made().ReplaceAllString(s, by) }

func (f *form) FindStringIndex(s string) []int { return f.made().FindStringIndex(s) }

func (f *form) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return f.made().FindAllStringSubmatchIndex(s, n)
}
