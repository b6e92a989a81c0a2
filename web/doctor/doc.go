// Package doctor says of each two sites how they meet or, where they do not, why and what would help. It looks at nothing itself: what each
// site has tried is handed in as views (view.go), and what follows from them is in diagnose.go.
package doctor
