// The one program in the test cluster's own images: pause, and what its test Pods do.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// As the first process of a Pod: reap whoever is left to it, leave when told to.
func pause() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	for {
		select {
		case <-told:
			return
		case <-died:
			for {
				if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
					break
				}
			}
		}
	}
}

func serve(port string) error {
	name, _ := os.Hostname()
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) { fmt.Fprintln(answer, name) })
	go pauseAndExit()
	fmt.Println("serving", port)
	return http.ListenAndServe(":"+port, nil)
}

func pauseAndExit() {
	pause()
	os.Exit(0)
}

func fetch(url string) error {
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(os.Stdout, answer.Body)
	return err
}

func write(path string) error {
	return os.WriteFile(path, []byte("written\n"), 0o644)
}

func show(path string) error {
	content, err := os.ReadFile(path)
	os.Stdout.Write(content)
	return err
}

func main() {
	does := map[string]func(string) error{"serve": serve, "fetch": fetch, "write": write, "show": show}
	if len(os.Args) == 2 && os.Args[1] == "pause" {
		pause()
	} else if len(os.Args) == 3 && does[os.Args[1]] != nil {
		if err := does[os.Args[1]](os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	} else {
		fmt.Fprintln(os.Stderr, "pause | serve PORT | fetch URL | write FILE | show FILE")
		os.Exit(2)
	}
}
