package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"
)

// certificates are what the TLS faults change in a valid certificate, which is
// its own authority.
var certificates = map[string]func(*x509.Certificate){
	"tls": func(*x509.Certificate) {},
	"tls-expired": func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().AddDate(-1, 0, 0), time.Now().AddDate(0, 0, -1)
	},
	"tls-name": func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{"elsewhere.example"}
	},
}

// secure puts TLS on a listener if a fault says so, and sets the URL.
func (w *web) secure(l net.Listener) (net.Listener, error) {
	w.url = "http://" + l.Addr().String() + path
	for name, change := range certificates {
		if !w.s.faults[name] {
			continue
		}
		template := &x509.Certificate{
			SerialNumber:          big.NewInt(1),
			Subject:               pkix.Name{CommonName: "faultserver"},
			NotBefore:             time.Now().Add(-time.Hour),
			NotAfter:              time.Now().AddDate(1, 0, 0),
			KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			BasicConstraintsValid: true,
			IsCA:                  true,
			IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
			DNSNames:              []string{"localhost"},
		}
		change(template)
		certificate, err := selfSigned(template, w.s.certout)
		if err != nil {
			return nil, err
		}
		w.url = "https://" + l.Addr().String() + path
		return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{certificate}}), nil
	}
	return l, nil
}

// selfSigned makes a key and signs a certificate with it; out is a file for its
// PEM, or "".
func selfSigned(template *x509.Certificate, out string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	if out != "" {
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		if err := os.WriteFile(out, block, 0o600); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
