package webhook

import (
	"net/netip"
	"testing"

	"github.com/apbridge/apbridge/config"
)

func TestWebhookURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct{ public, private bool }{
		"https://hooks.example.com/x?y=1":      {true, true},
		"http://hooks.example.com:8443":        {true, true},
		"https://8.8.8.8/x":                    {true, true},
		"https://[2606:4700::1111]/x":          {true, true},
		"https://3com.example/":                {true, true},
		"":                                     {},
		"hooks.example.com":                    {},
		"//hooks.example.com":                  {},
		"http:///path":                         {},
		"http://:80/":                          {},
		"file:///etc/passwd":                   {},
		"gopher://h/":                          {},
		"ftp://h/":                             {},
		"unix:/var/run/x.sock":                 {},
		"https://user@h.example/":              {},
		"https://user:pw@h.example/":           {},
		"https://h.example:port/":              {},
		"http://127.0.0.1/":                    {false, true},
		"http://127.0.0.1./":                   {false, true},
		"http://127.1/":                        {false, true},
		"http://2130706433/":                   {false, true},
		"http://0177.0.0.1/":                   {false, true},
		"http://0x7f.0.0.1/":                   {false, true},
		"http://0x7f000001/":                   {false, true},
		"http://localhost:8080/":               {false, true},
		"http://LocalHost./":                   {false, true},
		"http://a.localhost/":                  {false, true},
		"http://[::1]/":                        {false, true},
		"http://[::ffff:127.0.0.1]/":           {false, true},
		"http://[::ffff:10.0.0.1]/":            {false, true},
		"http://[fe80::1%25eth0]/":             {false, true},
		"http://[fd00::1]/":                    {false, true},
		"http://169.254.169.254/latest/":       {false, true},
		"http://10.1.2.3/":                     {false, true},
		"http://[64:ff9b::7f00:1]/":            {false, true},
		"http://0.0.0.0/":                      {false, true},
		"http://hooks.example.com/127.0.0.1/":  {true, true},
		"http://hooks.example.com@127.0.0.1/":  {},
		"http://127.0.0.1\\@hooks.example.com": {},
	} {
		if got := CheckTarget(url, config.Webhooks{}) == nil; got != want.public {
			t.Errorf("%q: accepted %v", url, got)
		}
		if got := CheckTarget(url, local) == nil; got != want.private {
			t.Errorf("%q with private networks: accepted %v", url, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.0.1": true, "172.32.0.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.9.9.9": false, "::1": false, "::ffff:127.0.0.1": false, "::127.0.0.1": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.0.1": false, "fc00::1": false, "fd00::1": false,
		"169.254.169.254": false, "fe80::1": false, "fe80::1%eth0": false, "100.64.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"224.0.0.1": false, "239.1.1.1": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false, "192.0.2.1": false,
		"198.18.0.1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false, "2001::1": false, "fec0::1": false,
	} {
		if got := publicAddr(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: public %v", addr, got)
		}
	}
	if publicAddr(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func FuzzCheckTarget(f *testing.F) {
	for _, s := range []string{"https://h/", "http://[::1]/", "http://0x7f.1/", "http://./", "http://%31/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if CheckTarget(raw, config.Webhooks{}) == nil && CheckTarget(raw, local) != nil {
			t.Errorf("%q is refused only if more is allowed", raw)
		}
	})
}
