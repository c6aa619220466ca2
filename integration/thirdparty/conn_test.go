package thirdparty

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"
)

// The connections pass the suite that Go's own net.Conn implementations pass.
func TestConn(t *testing.T) {
	for _, address := range []string{"192.0.2.1:0", "[fd00::1]:0"} {
		t.Run(address, func(t *testing.T) {
			server, client := pair(t)
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				ctx := testContext(t)
				ln, err := server.Listen(ctx, "tcp", address)
				if err != nil {
					return nil, nil, nil, err
				}
				defer ln.Close()
				if c1, err = client.DialContext(ctx, "tcp", ln.Addr().String()); err != nil {
					return nil, nil, nil, err
				}
				if c2, err = ln.Accept(); err != nil {
					c1.Close()
					return nil, nil, nil, err
				}
				return c1, c2, func() { c1.Close(); c2.Close() }, nil
			})
		})
	}
}
