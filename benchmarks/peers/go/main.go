// Kubeflow's training operator as the benchmarks run it: PaddleJobs alone, without the limits that
// its client puts on itself by default, and without webhooks, which need a certificate and a Service.
package main

import (
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	controllerv1 "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
)

func main() {
	threads := flag.Int("controller-threads", 1, "workers of the controller")
	unlimited := flag.Bool("unlimited", false, "no limit on the client's requests per second")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*threads, *unlimited); err != nil {
		ctrl.Log.Error(err, "cannot run")
		os.Exit(1)
	}
}

func run(threads int, unlimited bool) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := kubeflowv1.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	if unlimited {
		config.QPS = -1
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	setUp := controllerv1.SupportedSchemeReconciler[kubeflowv1.PaddleJobKind]
	if err := setUp(manager, common.GenNonGangSchedulerSetupFunc(), threads); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
