// Command cmd serves the forgetful example agent:
//
//	go run ./examples/forgetful/cmd -listen 127.0.0.1:8001
package main

import (
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/apbridge/apbridge/examples/forgetful"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8001", "address to serve the Agent Protocol v1 on")
	flag.Parse()
	log.Printf("forgetful agent on http://%s/ap/v1/agent/tasks", *listen)
	server := &http.Server{Addr: *listen, Handler: forgetful.Handler(), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
