// One program that is every part of a Kubernetes cluster, chosen by its name or its first argument.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var parts = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          served(apiserver.NewAPIServerCommand),
	"kube-controller-manager": served(controllers.NewControllerManagerCommand),
	"kube-proxy":              served(proxy.NewProxyCommand),
	"kube-scheduler":          served(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 served(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl": func() {
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	},
}

func served(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func main() {
	part, known := parts[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		part, known = parts[os.Args[0]]
	}
	if !known {
		fmt.Fprintln(os.Stderr, "name a part of the cluster: etcd, kubectl, kubelet, kube-...")
		os.Exit(2)
	}
	part()
}
