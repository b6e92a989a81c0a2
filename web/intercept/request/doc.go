// Package request is one request on its way through the agent of a site, with what has been found out about it (request.go, caller.go),
// and the place where requests for one service come in (front.go): what is known there of the sites that may answer (sites.go), what is
// told to other agents (speak.go), and how a request is answered or refused (answer.go).
package request
