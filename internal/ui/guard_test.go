package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/ui"
)

// TestOnlyTheAdmittedBrowserReads checks the token, the cookie, and the headers Host,
// Origin and Sec-Fetch-Site.
func TestOnlyTheAdmittedBrowserReads(t *testing.T) {
	v := newSite(t)
	for _, c := range []struct {
		name   string
		cookie bool
		header http.Header
		host   string
		method string
		path   string
		want   int
	}{
		{name: "admitted", cookie: true, want: 200},
		{name: "no cookie", want: 401},
		{name: "no cookie for the API", path: "/api/sessions", want: 401},
		{name: "no cookie for assets", path: "/assets/x/app.js", want: 401},
		{name: "a wrong cookie", header: http.Header{"Cookie": {"lcm_ui_1=x"}}, want: 401},
		{name: "a name that resolves to this machine", cookie: true, host: "evil.example:80", want: 403},
		{name: "localhost of another port passes, its cookie does not", host: "localhost:1", cookie: true, want: 401},
		{name: "another origin", cookie: true, header: http.Header{"Origin": {"http://evil.example"}}, want: 403},
		{name: "a null origin", cookie: true, header: http.Header{"Origin": {"null"}}, want: 403},
		{name: "another site", cookie: true, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}, want: 403},
		{name: "another port of this machine", cookie: true, header: http.Header{"Sec-Fetch-Site": {"same-site"}}, want: 403},
		{name: "the server's own page", cookie: true, header: http.Header{"Sec-Fetch-Site": {"same-origin"}}, want: 200},
		{name: "a post", cookie: true, method: "POST", want: 405},
		{name: "a used token", path: ui.OpenPath + "?token=" + v.server.Token(), want: 401},
		{name: "a wrong token", path: ui.OpenPath + "?token=x", want: 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			method, path := "GET", "/"
			if c.method != "" {
				method = c.method
			}
			if c.path != "" {
				path = c.path
			}
			req, err := http.NewRequestWithContext(t.Context(), method, v.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, values := range c.header {
				req.Header[k] = values
			}
			req.Host = c.host
			client := http.DefaultClient
			if c.cookie {
				client = v.client
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("status %d, want %d", resp.StatusCode, c.want)
			}
			policy := resp.Header.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") {
				t.Errorf("the policy is %q", policy)
			}
		})
	}
}

// TestTokenWorksOnce checks that a second browser cannot use the link.
func TestTokenWorksOnce(t *testing.T) {
	v := newSite(t)
	token := v.server.Token()
	if token != "" {
		t.Errorf("the token %q is still valid after its use", token)
	}
	resp, err := http.Get(v.url + ui.OpenPath + "?token=")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("an empty token gave status %d", resp.StatusCode)
	}
}

// TestCookieIsStrict checks the attributes of the cookie.
func TestCookieIsStrict(t *testing.T) {
	v := newSite(t)
	resp, err := v.client.Get(v.url + ui.OpenPath)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookies := resp.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || len(cookies[0].Value) < 26 {
		t.Errorf("the cookies are %v", cookies)
	}
}
