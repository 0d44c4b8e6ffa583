package trace

import (
	"crypto/tls"
	"crypto/x509"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// usualEndpoint is the address of a collector on the same machine (OTLP exporter, "Endpoint URLs for OTLP/HTTP").
const (
	usualEndpoint = "http://localhost:4318"
	tracesPath    = "/v1/traces"
	usualTimeout  = 10 * time.Second
)

// exporter reads the exporter and its address.
func (v *variables) exporter(s *Settings) {
	v.oneOf("OTEL_TRACES_EXPORTER", v.get("OTEL_TRACES_EXPORTER"), "otlp", "none")
	if name, value := v.otlp("PROTOCOL"); value == "grpc" {
		v.problem(name, "this bridge sends traces only by http/protobuf. Set it to http/protobuf, and set the endpoint to the collector's HTTP port (usually 4318)")
	} else {
		v.oneOf(name, value, "http/protobuf")
	}
	if file := v.get("OTEL_CONFIG_FILE"); file != "" {
		v.problem("OTEL_CONFIG_FILE", "this bridge does not read such a file. Unset it, and set the variables instead")
	}
	s.endpoint = v.endpoint()
	name, value := v.otlp("TIMEOUT")
	s.timeout = v.milliseconds(name, value, usualTimeout)
	name, value = v.otlp("COMPRESSION")
	s.gzip = v.oneOf(name, value, "none", "gzip") == "gzip"
	s.headers = map[string]string{}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} { // the second takes precedence
		v.pairs(name, v.get(name), func(key, value string) {
			if !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
				v.problem(name, "%q is not a valid header name, or its value is not a valid header value", key)
			}
			s.headers[textproto.CanonicalMIMEHeaderKey(key)] = value
		})
	}
}

// endpoint returns the URL for traces verbatim, or the general one with the path for traces.
func (v *variables) endpoint() *url.URL {
	own, all := v.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), v.get("OTEL_EXPORTER_OTLP_ENDPOINT")
	name, text := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", own
	if own == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", all
	}
	if text == "" {
		text = usualEndpoint
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		v.problem(name, "it must be a URL with http:// or https://, such as http://collector:4318")
		return &url.URL{}
	}
	if own == "" {
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+tracesPath, ""
	} else if u.Path == "" {
		u.Path = "/"
	}
	v.insecure(u.Scheme)
	return u
}

// insecure is for gRPC. In HTTP it must not contradict the scheme.
func (v *variables) insecure(scheme string) {
	if name, value := v.otlp("INSECURE"); value != "" && v.yes(name) != (scheme == "http") {
		v.problem(name, "the scheme of the endpoint, %s, contradicts it. Unset it, or change the scheme", scheme)
	}
}

// connection reads the certificate files.
func (v *variables) connection(s *Settings) {
	var c tls.Config
	name, file := v.otlp("CERTIFICATE")
	if pem, ok := v.file(name, file); ok {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			v.problem(name, "%s contains no PEM certificate", file)
		}
	}
	certName, cert := v.otlp("CLIENT_CERTIFICATE")
	keyName, key := v.otlp("CLIENT_KEY")
	switch {
	case cert == "" && key != "":
		v.problem(keyName, "it also needs %s", strings.Replace(keyName, "CLIENT_KEY", "CLIENT_CERTIFICATE", 1))
	case cert != "" && key == "":
		v.problem(certName, "it also needs %s", strings.Replace(certName, "CLIENT_CERTIFICATE", "CLIENT_KEY", 1))
	case cert != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			v.problem(certName, "%v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if c.RootCAs != nil || c.Certificates != nil {
		s.secure = &c
	}
}

func (v *variables) file(name, path string) (content []byte, ok bool) {
	if path == "" {
		return nil, false
	}
	content, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		v.problem(name, "%v", err)
	}
	return content, err == nil
}
