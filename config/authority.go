package config

import (
	"crypto/x509"
	"errors"
)

// Authorities reads authority certificates from a PEM file.
func Authorities(file string) (*x509.CertPool, error) {
	raw, err := ReadFile(file)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return nil, errors.New("it contains no certificate in PEM")
	}
	return pool, nil
}
