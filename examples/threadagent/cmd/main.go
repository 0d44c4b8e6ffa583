// Command cmd serves the example thread/run agent on its own:
//
//	go run ./examples/threadagent/cmd -listen 127.0.0.1:8123
package main

import (
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/examples/threadagent"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8123", "address to serve threads and runs on")
	flag.Parse()
	log.Printf("thread/run agent on http://%s", *listen)
	server := &http.Server{Addr: *listen, Handler: threadagent.Handler(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
