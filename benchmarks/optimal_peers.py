"""The peers' D-optimal designs, by the peers' interpreter and not by Hati's: one JSON object a line.

Takes one argument, a JSON file with "factors", "runs" and "given" (rows of -1 and 1, or none).
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def process_improve(names: list[str], runs: int, given: list[list[int]]) -> Any:
    import pandas as pd
    from process_improve.experiments import Factor, generate_design

    factors = [Factor(name=name, type="categorical", levels=["-1", "1"]) for name in names]
    kept = pd.DataFrame(given, columns=names).astype(str) if given else None
    made = generate_design(
        factors,
        design_type="d_optimal",
        budget=runs + len(given),
        model_type="interactions",
        fixed_runs=kept,
        random_state=1,
    )
    return made.design[names].astype(float).to_numpy()


def pyoptex(names: list[str], runs: int, given: list[list[int]]) -> Any:
    import pandas as pd
    from pyoptex._seed import set_seed
    from pyoptex.doe.fixed_structure import Factor, create_fixed_structure_design, create_parameters, default_fn
    from pyoptex.doe.fixed_structure.metric import Dopt
    from pyoptex.utils.model import model2Y2X, partial_rsm_names

    set_seed(1)
    factors = [Factor(name, type="continuous", levels=np.array([-1.0, 1.0])) for name in names]
    columns = model2Y2X(partial_rsm_names(dict.fromkeys(names, "tfi")), factors)
    prior = pd.DataFrame(given, columns=names).astype(float) if given else None
    asked = create_parameters(factors, default_fn(factors, Dopt(), columns), runs + len(given), prior=prior)
    return create_fixed_structure_design(asked, n_tries=1)[0][names].to_numpy()


def told(name: str, make: Callable[..., Any], case: dict[str, Any]) -> None:
    start = time.perf_counter()
    try:
        runs = make(case["factors"], case["runs"], case["given"])
        seconds = time.perf_counter() - start
        print(json.dumps({"peer": name, "seconds": seconds, "runs": np.sign(runs).astype(int).tolist()}), flush=True)
    except Exception as error:  # noqa: BLE001  # whatever a peer raises is its answer
        print(json.dumps({"peer": name, "problem": f"{type(error).__name__}: {error}"[:120]}), flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    wanted = json.loads(Path(sys.argv[1]).read_text())
    told("process-improve", process_improve, wanted)
    told("pyoptex", pyoptex, wanted)
