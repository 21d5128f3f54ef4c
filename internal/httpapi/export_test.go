package httpapi

import (
	"net/http"
)

// Transport is that of a client, for requests which it does not make.
func Transport(socket string) http.RoundTripper {
	return NewClient(DialUnix(socket)).http.Transport
}
