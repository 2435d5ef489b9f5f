// Package keyboard says what the buttons of nod's messages mean and how they are laid out.
//
// A button carries callback data of at most 64 bytes, which Telegram hands back with a press. It names a verb and what
// the verb is about: for a request to a person only its nonce. Data can be forged, or come from a message that never
// had such a button: whoever decodes it must still check who pressed and what the nonce stands for. The package is
// pure; all of it may be used concurrently.
package keyboard

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxData is the most bytes of callback data that Telegram takes.
const MaxData = 64

// Verb is what a press asks for.
type Verb uint8

// What a Verb's Ref is comes first, what its N is in brackets.
const (
	Approve       Verb = iota + 1 // a request's nonce
	Reject                        // a request's nonce
	Grant15                       // a request's nonce; approve, and let its kind through for 15 minutes
	GrantSession                  // a request's nonce; approve, and let its kind through in this session
	Always                        // a request's nonce; show what always would cover
	AlwaysConfirm                 // a request's nonce; that is what is wanted
	Back                          // a request's nonce; from there to the card
	Page                          // a request's nonce (the page to show, from 0)
	Answer                        // a question's nonce (which of its answers, from 0)
	Again                         // an interrupted call's nonce
	Skip                          // an interrupted call's nonce
	JobRun                        // a job
	JobPause                      // a job
	JobResume                     // a job
	JobDelete                     // a job
	UseModel                      // (a configured model, from 1; 0 lets nod choose)
	RevokeGrant                   // a grant
	RevokeRule                    // a rule
	AllowUser                     // (a user)
	IgnoreUser                    // (a user)
	FetchFile                     // a call, of whose target the file is wanted
	RuleGroups                    // (ignored); the groups of rules
	RuleGroup                     // a group of rules (the page of its rules, from 0)
	RuleShow                      // a rule
	RuleSet                       // a rule (which of RuleActions it gets; from ConfirmedAllow on, what is meant)
	RuleDelete                    // a rule (1 when that is meant)
	GroupDelete                   // a group of rules (1 when that is meant)
	GroupCopy                     // a group of rules
	RuleTools                     // a group of rules (the page of the tools that it can get a rule for, from 0)
	RuleTool                      // a tool in a group of rules
	RuleAdd                       // a tool in a group of rules (as for RuleSet)
	UseContext                    // a run context's name
)

// Action is the meaning of one button.
type Action struct {
	Verb Verb
	Ref  string // an id, of 1 to 40 of [a-z0-9_-]; "" for verbs without
	N    int64  // 0 or more; 0 for verbs without
}

// shape says how a verb is written. Letters are never given to another verb: buttons outlive a version of the program.
type shape struct {
	letter byte
	ref, n bool
}

var shapes = [...]shape{
	Approve:       {'a', true, false},
	Reject:        {'r', true, false},
	Grant15:       {'f', true, false},
	GrantSession:  {'s', true, false},
	Always:        {'w', true, false},
	AlwaysConfirm: {'y', true, false},
	Back:          {'b', true, false},
	Page:          {'p', true, true},
	Answer:        {'q', true, true},
	Again:         {'g', true, false},
	Skip:          {'k', true, false},
	JobRun:        {'J', true, false},
	JobPause:      {'P', true, false},
	JobResume:     {'R', true, false},
	JobDelete:     {'D', true, false},
	UseModel:      {'M', false, true},
	RevokeGrant:   {'G', true, false},
	RevokeRule:    {'U', true, false},
	AllowUser:     {'A', false, true},
	IgnoreUser:    {'I', false, true},
	FetchFile:     {'F', true, false},
	RuleGroups:    {'h', false, true},
	RuleGroup:     {'v', true, true},
	RuleShow:      {'x', true, false},
	RuleSet:       {'S', true, true},
	RuleDelete:    {'X', true, true},
	GroupDelete:   {'Z', true, true},
	GroupCopy:     {'C', true, false},
	RuleTools:     {'T', true, true},
	RuleTool:      {'O', true, false},
	RuleAdd:       {'E', true, true},
	UseContext:    {'Y', true, false},
}

// version begins all data, so that a later format can tell its own buttons from these.
const version = '1'

// maxRef leaves room for the longest number beside it.
const maxRef = 40

var errData = errors.New("this button is not one of this version of nod")

// Encode writes callback data: the version, the verb's letter, and each argument after a dot.
func Encode(a Action) (string, error) {
	if int(a.Verb) >= len(shapes) || shapes[a.Verb].letter == 0 {
		return "", fmt.Errorf("encoding a button: unknown verb %d", a.Verb)
	}
	s := shapes[a.Verb]
	if s.ref && !validRef(a.Ref) || !s.ref && a.Ref != "" {
		return "", fmt.Errorf("encoding a button: verb %q can't be about %q", s.letter, a.Ref)
	}
	if a.N < 0 || !s.n && a.N != 0 {
		return "", fmt.Errorf("encoding a button: verb %q can't have the number %d", s.letter, a.N)
	}
	data := string([]byte{version, s.letter})
	if s.ref {
		data += "." + a.Ref
	}
	if s.n {
		data += "." + strconv.FormatInt(a.N, 10)
	}
	return data, nil
}

// Decode reads what Encode wrote, and nothing else.
func Decode(data string) (Action, error) {
	if len(data) > MaxData || len(data) < 2 || data[0] != version {
		return Action{}, errData
	}
	a := Action{}
	for v, s := range shapes {
		if s.letter != 0 && s.letter == data[1] {
			a.Verb = Verb(v)
		}
	}
	fields := strings.Split(data[2:], ".")[1:]
	s := shapes[a.Verb]
	if s.ref && len(fields) > 0 {
		a.Ref, fields = fields[0], fields[1:]
	}
	if s.n && len(fields) > 0 {
		a.N, _ = strconv.ParseInt(fields[0], 10, 64) // what is not a number is found out below
	}
	// Whatever is wrong shows in that Encode would have written something else.
	if again, err := Encode(a); err != nil || again != data {
		return Action{}, errData
	}
	return a, nil
}

func validRef(s string) bool {
	if s == "" || len(s) > maxRef {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
