// Package lab is a small application made of three REST services, for demonstrations and tests: images, networks
// and servers, where a server is made from an image that the servers service fetches from the images service, may have
// another one in its drive and is plugged into a network, a network has ports inside, and keys have names that
// clients choose, and uses inside.
//
// It stands for the applications that Skerry is put in front of, so it knows nothing of Skerry: it assigns its own
// identifiers, each instance its own, passes tracing headers on as any instrumented service does, and has the
// ordinary habits of REST services (ETag, If-Match, merge patch, JSON Patch, Idempotency-Key).
//
// What an ordinary service has not is under /-/ of each service: counters of what was received and done, and
// faults to order (faults.go). The catalog that describes lab to an agent is lab.yaml.
package lab
