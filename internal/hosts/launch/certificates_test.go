package launch_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts/launch"
)

// TestTLS: a server with a certificate of the company's own, which asks for one of the
// client's, is reached with the variables that agents know.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"NODE_EXTRA_CA_CERTS":     write("ca.pem", "CERTIFICATE", server.Certificate().Raw),
		"CLAUDE_CODE_CLIENT_CERT": write("own.pem", "CERTIFICATE", own),
		"CLAUDE_CODE_CLIENT_KEY":  write("own.key", "PRIVATE KEY", private),
	}
	reach := func(without string) error {
		c, err := launch.TLS(func(name string) string {
			if name == without {
				return ""
			}
			return env[name]
		})
		if err != nil {
			return err
		}
		transport := &http.Transport{TLSClientConfig: c}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(server.URL)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	if err := reach(""); err != nil {
		t.Error(err)
	}
	for name := range env {
		if reach(name) == nil {
			t.Errorf("the server is reached without %s", name)
		}
	}
	for name, value := range map[string]string{"NODE_EXTRA_CA_CERTS": filepath.Join(dir, "own.key"), "CLAUDE_CODE_CLIENT_CERT": "nowhere", "NODE_TLS_REJECT_UNAUTHORIZED": "0"} {
		if c, err := launch.TLS(func(n string) string { return map[string]string{name: value}[n] }); err == nil {
			t.Errorf("%s=%s: %v", name, value, c)
		}
	}
	if c, err := launch.TLS(func(string) string { return "" }); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
}
