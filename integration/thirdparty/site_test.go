package thirdparty

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// site is an application as people write them with chi.
type site struct {
	chi.Router
	journal journal
	gone    chan error // why a stream to a client ended
	entered chan struct{}
	leave   chan struct{}
}

func newSite() *site {
	s := &site{
		Router:  chi.NewRouter(),
		gone:    make(chan error, 1),
		entered: make(chan struct{}),
		leave:   make(chan struct{}),
	}
	s.Use(middleware.RequestID, middleware.RequestLogger(&s.journal), middleware.Recoverer)
	s.Use(middleware.Heartbeat("/alive"), middleware.StripSlashes)
	s.Get("/hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", chi.URLParam(r, "name"))
	})
	s.Get("/panic", func(http.ResponseWriter, *http.Request) { panic("at the disco") })
	s.With(middleware.Compress(5, "text/plain")).Get("/long", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for i := range 20_000 {
			fmt.Fprintln(w, i)
		}
	})
	s.With(middleware.Timeout(20*time.Millisecond)).Get("/slow", func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	})
	s.Route("/private", func(r chi.Router) {
		r.Use(middleware.BasicAuth("wire", map[string]string{"bare": "secret"}))
		r.Get("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "welcome") })
	})
	s.With(middleware.Throttle(4)).Get("/throttled", s.wait)
	s.Get("/wait", s.wait)
	s.Post("/echo", func(w http.ResponseWriter, r *http.Request) {
		// All of it first: HTTP/1 drops the rest of a body when the answer begins.
		if body, err := io.ReadAll(r.Body); err == nil {
			w.Write(body)
		}
	})
	s.Post("/lines", answerLines)
	s.Get("/endless", s.endless)
	return s
}

// wait holds a request until the test lets it go.
func (s *site) wait(w http.ResponseWriter, r *http.Request) {
	s.entered <- struct{}{}
	<-s.leave
	io.WriteString(w, "done")
}

// answerLines answers each line of a request while the request goes on.
func answerLines(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	if err := c.EnableFullDuplex(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusOK)
	c.Flush()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); c.Flush() {
		fmt.Fprintf(w, "got %s\n", lines.Text())
	}
}

// endless sends until the client goes away.
func (s *site) endless(w http.ResponseWriter, r *http.Request) {
	chunk := make([]byte, 32<<10)
	for {
		if _, err := w.Write(chunk); err != nil {
			<-r.Context().Done()
			s.gone <- r.Context().Err()
			return
		}
	}
}

// journal is a chi log formatter that keeps what it is told.
type journal struct {
	mu       sync.Mutex
	requests map[string]int // request id, status
	panics   []any
}

type entry struct {
	j  *journal
	id string
}

// NewLogEntry implements middleware.LogFormatter.
func (j *journal) NewLogEntry(r *http.Request) middleware.LogEntry {
	return &entry{j, middleware.GetReqID(r.Context())}
}

// Write implements middleware.LogEntry.
func (e *entry) Write(status, _ int, _ http.Header, _ time.Duration, _ any) {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	if e.j.requests == nil {
		e.j.requests = make(map[string]int)
	}
	e.j.requests[e.id] = status
}

// Panic implements middleware.LogEntry.
func (e *entry) Panic(v any, _ []byte) {
	e.j.mu.Lock()
	defer e.j.mu.Unlock()
	e.j.panics = append(e.j.panics, v)
}

func (j *journal) panicked() []any {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.panics
}

// finished counts the requests by status.
func (j *journal) finished() map[int]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := make(map[int]int)
	for _, status := range j.requests {
		n[status]++
	}
	return n
}
