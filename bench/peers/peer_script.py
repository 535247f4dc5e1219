"""What is written on an afternoon: CuPy's RawModule in a loop over the caps, ten timed launches of each."""

import statistics
import time
from pathlib import Path

import gpu as gpus
from children import serve

NAME = "plain script"


def missing():
    return gpus.missing()


def answer_to(request, write):
    import cupy

    from arrays import make_arrays
    from launches import launch_from

    launch = launch_from(request["launch"])
    arguments = tuple(cupy.asarray(one) if one.ndim else one for one in make_arrays(launch))
    source = Path(request["source"]).read_text()
    answer = {"peer": NAME, "version": f"CuPy {cupy.__version__}", "runs": []}
    for run in request["runs"]:
        cupy.clear_memo()  # what an earlier run compiled is taken from CuPy's files: only the times are new
        answer["runs"].append({**run, **_loop(cupy, request, launch, arguments, source)})
        write(answer)
    return answer


def _loop(cupy, request, launch, arguments, source):
    began, busy_ms, times = time.monotonic(), 0.0, {}
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    for cap in request["caps"]:
        if request.get("seconds") and time.monotonic() - began > request["seconds"]:
            break
        options = tuple(request["options"] + ([f"--maxrregcount={cap}"] if cap else []))
        try:
            kernel = cupy.RawModule(code=source, options=options,
                                    name_expressions=[request["kernel"]]).get_function(request["kernel"])
            samples = []
            for _ in range(11):
                start.record()
                kernel(tuple(launch.grid), tuple(launch.block), arguments)
                end.record()
                end.synchronize()
                samples.append(float(cupy.cuda.get_elapsed_time(start, end)))
            busy_ms += sum(samples)
            times[cap] = statistics.median(samples[1:])
        except Exception as error:  # a cap that does not compile or launch is passed over
            print(cap, error)
    run = {"tuning_s": time.monotonic() - began, "settled": len(times), "valid": len(times),
           "gpu_s": busy_ms / 1000}
    if times:
        run["best"] = min(times, key=times.get)
        run["best_ms"] = times[run["best"]]
    return run


if __name__ == "__main__":
    serve(answer_to)
