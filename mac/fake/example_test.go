package fake_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/netip"

	"github.com/barewire/barewire/endpoint"
	"github.com/barewire/barewire/endpoint/netstack"
	"github.com/barewire/barewire/mac/fake"
)

// hello is the handler under test.
func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "hello %s", r.URL.Query().Get("name"))
}

// host makes a TCP/IP host on a fake MAC.
func host(m *fake.MAC, address string) *netstack.Host {
	ep, err := endpoint.New(m.Device, nil)
	if err != nil {
		log.Fatal(err)
	}
	h, err := netstack.New(ep, &netstack.Options{Addresses: []netip.Prefix{netip.MustParsePrefix(address)}})
	if err != nil {
		log.Fatal(err)
	}
	return h
}

// Example tests an HTTP handler over two fake MACs on one wire: the request
// leaves the client's TCP, goes through a transmit ring, the modelled cores and a
// receive ring to the server's TCP, and the answer comes back the same way.
func Example() {
	a, b, err := fake.Pair(nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	server, client := host(a, "192.0.2.1/24"), host(b, "192.0.2.2/24")
	defer server.Close()
	defer client.Close()

	ln, err := server.Listen(context.Background(), "tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(ln, http.HandlerFunc(hello))

	web := http.Client{Transport: &http.Transport{DialContext: client.DialContext}}
	defer web.CloseIdleConnections()
	resp, err := web.Get("http://192.0.2.1/?name=wire")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode, string(body))

	// Output: 200 hello wire
}

// ExampleMAC_Send drives one MAC by hand: the test is the wire.
func ExampleMAC_Send() {
	m, err := fake.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	h := host(m, "192.0.2.1/24")
	defer h.Close()

	// Who has 192.0.2.1? Tell 192.0.2.9.
	m.Send([]byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 9, 0x08, 0x06,
		0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 192, 0, 2, 9, 0, 0, 0, 0, 0, 0, 192, 0, 2, 1,
	})
	for {
		frame, err := m.Next(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		if frame[12] == 0x08 && frame[13] == 0x06 { // past the host's own greetings
			fmt.Println("ARP reply from", netip.AddrFrom4([4]byte(frame[28:32])))
			return
		}
	}

	// Output: ARP reply from 192.0.2.1
}
