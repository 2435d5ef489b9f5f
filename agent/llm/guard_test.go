package llm

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"nod/tools"
)

// TestSE5_OnlyPublicAddresses: what is not of the public internet is not reached, in whatever form it is written.
func TestSE5_OnlyPublicAddresses(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1",
		"64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "fec0::1", "198.18.0.1", "192.0.2.1", "240.0.0.1",
	} {
		if isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s is taken for public", address)
		}
	}
	for _, address := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "192.169.0.1", "::ffff:8.8.8.8", "2606:4700::1111"} {
		if !isPublic(netip.MustParseAddr(address)) {
			t.Errorf("%s is taken for private", address)
		}
	}
	if publicOnly("tcp", "not an address", nil) == nil || publicOnly("tcp", "8.8.8.8:443", nil) != nil {
		t.Error("the dialer's check is wrong")
	}
}

// TestSE5_APictureElsewhereInTheOwnNetwork: a service says that its picture lies on another server, which is in nod's own
// network: it is not asked. The service's own host is.
func TestSE5_APictureElsewhereInTheOwnNetwork(t *testing.T) {
	reached := 0
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached++
		_, _ = w.Write([]byte("the secret of the neighbour"))
	}))
	defer private.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(private.URL, "http://"), ":")
	var named string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte("a picture"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[{"url":"` + named + `"}]}`))
	}))
	defer service.Close()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	drawing := Drawing{Service: Service{BaseURL: service.URL + "/v1", Model: "draw", Transport: transport}}
	for _, address := range []string{
		private.URL, "http://localhost:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0x7f.1:" + port, "http://2130706433:" + port, "http://127.1:" + port,
		"file:///etc/passwd", "gopher://127.0.0.1:" + port, "http://0:" + port,
	} {
		named = address
		picture, err := drawing.Generate(t.Context(), tools.ImageRequest{Prompt: "x"})
		if err == nil || reached > 0 {
			t.Errorf("%s gave %q, %v; %d requests came", address, picture, err, reached)
		}
	}
	named = service.URL + "/picture.png"
	if picture, err := drawing.Generate(t.Context(), tools.ImageRequest{Prompt: "x"}); err != nil || string(picture) != "a picture" {
		t.Errorf("the service's own picture: %q, %v", picture, err)
	}
}
