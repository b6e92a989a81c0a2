package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
)

// startSecured is an agent that people log in to over TLS: ada has the password "correct horse ada", and the token skt_ada counts.
func startSecured() *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.PostFormValue("name") == "hurried":
			w.Header().Set("Retry-After", "16")
			w.WriteHeader(http.StatusTooManyRequests)
		case r.PostFormValue("name") != "ada" || r.PostFormValue("password") != "correct horse ada":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.SetCookie(w, &http.Cookie{Name: "__Host-skerry", Value: "session", Path: "/", Secure: true})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		}
	})
	mux.HandleFunc("POST /logout", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusSeeOther) })
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie("__Host-skerry")
		loggedIn := err == nil && cookie.Value == "session"
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !loggedIn && r.Header.Get("Authorization") != "Bearer skt_ada":
			refuse(w, 401, "unauthenticated", "this site wants to know who asks")
		case r.Method == http.MethodPost && loggedIn:
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "token": "skt_new", "expires_at": noon})
		default:
			_ = json.NewEncoder(w).Encode([]any{})
		}
	})
	return httptest.NewTLSServer(mux)
}
