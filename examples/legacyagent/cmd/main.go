// Command cmd serves the example task/step agent on its own:
//
//	go run ./examples/legacyagent/cmd -listen 127.0.0.1:8000
package main

import (
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/examples/legacyagent"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8000", "address to serve the Agent Protocol v1 on")
	flag.Parse()
	log.Printf("task/step agent on http://%s/ap/v1/agent/tasks", *listen)
	server := &http.Server{Addr: *listen, Handler: legacyagent.Handler(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
