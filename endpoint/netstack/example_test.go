package netstack_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"

	"github.com/barewire/barewire/endpoint/netstack"
)

// cable makes the two ends of an Ethernet cable in memory. On a board, each end
// would be the endpoint of a network card.
func cable() (*ethernet.Endpoint, *ethernet.Endpoint) {
	a, b := pipe.New("\x02\x00\x00\x00\x00\x01", "\x02\x00\x00\x00\x00\x02", 1514)
	return ethernet.New(a), ethernet.New(b)
}

// A web server and its client, each on a stack of its own.
func ExampleNew() {
	ctx := context.Background()
	left, right := cable()

	server, err := netstack.New(left, &netstack.Options{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ln, err := server.Listen(ctx, "tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "hello from", r.Host)
	}))

	client, err := netstack.New(right, &netstack.Options{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	web := &http.Client{Transport: &http.Transport{DialContext: client.DialContext, DisableKeepAlives: true}}
	resp, err := web.Get("http://192.0.2.1/")
	if err != nil {
		log.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(body))
	// Output: hello from 192.0.2.1
}

// A multicast DNS responder hears queries once the group is joined; the
// hardware filter lets them through then too.
func ExampleHost_JoinGroup() {
	ctx := context.Background()
	left, right := cable()
	responder, err := netstack.New(left, &netstack.Options{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer responder.Close()
	pc, err := responder.ListenPacket(ctx, "udp4", ":5353")
	if err != nil {
		log.Fatal(err)
	}
	if err := responder.JoinGroup(netip.MustParseAddr("224.0.0.251")); err != nil {
		log.Fatal(err)
	}

	asker, err := netstack.New(right, &netstack.Options{
		Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/24")},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer asker.Close()
	out, err := asker.DialContext(ctx, "udp4", "224.0.0.251:5353")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := out.Write([]byte("who is board.local?")); err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, 1500)
	n, from, err := pc.ReadFrom(buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s asks: %s\n", from.(*net.UDPAddr).IP, buf[:n])
	// Output: 192.0.2.2 asks: who is board.local?
}
