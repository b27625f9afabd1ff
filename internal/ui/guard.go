package ui

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// contentPolicy allows the server's own scripts, styles and images, and nothing
// inline.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard admits the browser that opened the link of the terminal. It refuses other
// programs of the machine, other web sites, and names that resolve to this
// machine (DNS rebinding).
type guard struct {
	mu     sync.Mutex
	token  string // for one use, then empty
	cookie string
}

func newGuard() *guard { return &guard{token: rand.Text(), cookie: rand.Text()} }

// OpenPath is the path that exchanges the token for the cookie.
const OpenPath = "/open"

// redeem exchanges the token for the cookie, once.
func (g *guard) redeem(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		return false
	}
	g.token = ""
	return true
}

// cookieName differs by port, because browsers share cookies between ports.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "lcm_ui_" + port
}

func (g *guard) admitted(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.cookie)) == 1
}

// loopbackHost reports whether a Host header names this machine with a port.
func loopbackHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	return err == nil && port != "" && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, strings.ToLower(name))
}

// ownPage reports whether a request comes from a page of this server, or from the
// address bar.
func ownPage(r *http.Request) bool {
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

// wrap checks each request before h sees it.
func (g *guard) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", contentPolicy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		switch {
		case !loopbackHost(r.Host):
			http.Error(w, "this server answers to 127.0.0.1 and localhost only", http.StatusForbidden)
		case r.URL.Path == OpenPath && r.Method == http.MethodGet:
			g.open(w, r)
		case !ownPage(r):
			http.Error(w, "the request comes from another site", http.StatusForbidden)
		case !g.admitted(r):
			http.Error(w, "open the link that `lcm ui` printed; it works once, in one browser. Start `lcm ui` again for a new one.", http.StatusUnauthorized)
		case r.Method != http.MethodGet:
			http.Error(w, "the pages only read", http.StatusMethodNotAllowed)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// open exchanges the token for the cookie. It answers with a page that leads on,
// not with a redirect: after a link from another site a browser would not send a
// strict cookie with a redirect.
func (g *guard) open(w http.ResponseWriter, r *http.Request) {
	if !g.admitted(r) && !g.redeem(r.URL.Query().Get("token")) {
		http.Error(w, "this link was used, or is not complete. Start `lcm ui` again for a new one.", http.StatusUnauthorized)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>lcm</title><link rel="icon" href="` + asset("icon.svg") + `"><meta http-equiv="refresh" content="0;url=/"><p><a href="/">Open lcm</a></p></html>`))
}
