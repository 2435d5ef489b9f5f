package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"nod/store"
	"nod/tools"
)

// throat speaks what it is told to.
type throat struct {
	tools.Fee
	sound string
	err   error
}

func (s throat) Speak(context.Context, string) ([]byte, error) { return []byte(s.sound), s.err }

func TestSendVoiceMessage(t *testing.T) {
	const opus = "OggS\x00\x02 page OpusHead\x01"
	for name, c := range map[string]struct {
		throat tools.SpeechPort
		text   string
		want   string
	}{
		"speech":         {throat{sound: opus}, "Good morning.", "Sent as a voice message"},
		"no port":        {nil, "Good morning.", "not available here"},
		"no words":       {throat{sound: opus}, " \n", "text is empty"},
		"too many words": {throat{sound: opus}, strings.Repeat("a", 4001), "4001 characters"},
		"a failure":      {throat{err: errors.New("the voice is hoarse")}, "x", "making speech: the voice is hoarse"},
		"WAV":            {throat{sound: "RIFF....WAVE"}, "x", "no Ogg file with Opus"},
		"Vorbis":         {throat{sound: "OggS\x00\x02 vorbis"}, "x", "no Ogg file with Opus"},
		"nothing":        {throat{}, "x", "no Ogg file with Opus"},
	} {
		r, tr := newRig(t)
		r.Scope.Ports.Speech = c.throat
		out := r.Call(tools.SendVoiceMessage, args{"text": c.text})
		if !strings.Contains(out.Text, c.want) {
			t.Errorf("%s: %s, %q; want %q", name, out.State, out.Text, c.want)
		}
		if sent := out.State == tools.Completed; sent != (len(tr.sent) == 1 && tr.sent[0].Kind == tools.Voice) {
			t.Errorf("%s: %s, and sent %v", name, out.State, tr.sent)
		}
		if len(r.Cards()) > 0 {
			t.Errorf("%s: somebody was asked", name)
		}
	}
}

// TestSendVoiceMessage_Costs: what was spoken has its price, also where it is of no use; a refusal is free.
func TestSendVoiceMessage_Costs(t *testing.T) {
	for name, c := range map[string]struct {
		throat throat
		want   float64
	}{
		"speech":      {throat{Fee: 0.02, sound: "OggS\x00\x02 page OpusHead\x01"}, 0.02},
		"free speech": {throat{sound: "OggS\x00\x02 page OpusHead\x01"}, 0},
		"WAV":         {throat{Fee: 0.02, sound: "RIFF....WAVE"}, 0.02},
		"a failure":   {throat{Fee: 0.02, err: errors.New("the voice is hoarse")}, 0},
	} {
		r, _ := newRig(t)
		r.Scope.Ports.Speech = c.throat
		if e := r.Record(tools.SendVoiceMessage, args{"text": "Good morning."}); e.Cost != c.want {
			t.Errorf("%s: %s, and it cost %v, want %v", name, e.State, e.Cost, c.want)
		}
	}
}

// A port that is taken away between a round and the beginning of its call.
func TestPhase_ACallOfAWithdrawnPortFailsWithAClearOutcome(t *testing.T) {
	r, tr := newRig(t)
	r.Write("a.txt", "a")
	offer := r.Registry.Offer(tools.Visibility{Scope: r.Scope})
	out, err := r.Executor.Run(t.Context(), tools.CallRequest{
		ID: store.NewCallID(), Name: tools.SendAttachment, Args: []byte(`{"file_path":"a.txt"}`), Scope: r.Scope, Offer: offer,
		Ports: func() tools.Ports { return tools.Ports{} },
	}, func(*store.Tx, tools.Execution) error { return nil })
	if err != nil || out.State != tools.Failed || !strings.Contains(out.Text, "send_attachment can't be used in this chat any more") || len(tr.sent) > 0 {
		t.Errorf("the call is %s: %s (%v); sent %v", out.State, out.Text, err, tr.sent)
	}
}
