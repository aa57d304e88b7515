//go:build tools

// Pins kwok, which bench/cluster.py builds and runs: nodes and Pods that only say that they run.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
