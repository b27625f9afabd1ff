package launch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS returns how the proxy has to connect to the model APIs so that it reaches those that
// the programs reach: with the certificates that the environment names for them. It is nil
// if there are none.
func TLS(getenv func(string) string) (*tls.Config, error) {
	if getenv("NODE_TLS_REJECT_UNAUTHORIZED") == "0" {
		return nil, errors.New("NODE_TLS_REJECT_UNAUTHORIZED is 0, and lcm connects to no server without a check: name its certificate in NODE_EXTRA_CA_CERTS")
	}
	var c *tls.Config
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "CODEX_CA_CERTIFICATE"} {
		file := getenv(name)
		if file == "" {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if c == nil {
			c = &tls.Config{MinVersion: tls.VersionTLS12}
			if c.RootCAs, err = x509.SystemCertPool(); err != nil {
				c.RootCAs = x509.NewCertPool()
			}
		}
		if !c.RootCAs.AppendCertsFromPEM(src) {
			return nil, fmt.Errorf("%s: %s has no certificate", name, file)
		}
	}
	if file := getenv("CLAUDE_CODE_CLIENT_CERT"); file != "" {
		own, err := tls.LoadX509KeyPair(file, getenv("CLAUDE_CODE_CLIENT_KEY"))
		if err != nil {
			return nil, fmt.Errorf("CLAUDE_CODE_CLIENT_CERT: %w", err)
		}
		if c == nil {
			c = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}
