"""A trainer that prints one line per iteration."""

from __future__ import annotations

from typing import Any

from tagwright.compat.crfsuite.trainer import Trainer
from tagwright.table import table


class LinePerIterationTrainer(Trainer):
    """Prints one line per iteration and, with holdout data, a table of the labels at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print the iteration."""
        parts = [f"Iter {info['num']:<3} ", f"time={info['time']:<5.2f} ", f"loss={info['loss']:<8.2f} "]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5} ")
        if "avg_precision" in info:
            names = {"precision": "avg_precision", "recall": "avg_recall", "F1": "avg_f1"}
            parts += [f"{shown}={info[name]:0.3f}  " for shown, name in names.items()]
            shares = info["item_accuracy_float"], info["instance_accuracy_float"]
            parts.append(f"Acc(item/seq)={shares[0]:0.3f} {shares[1]:0.3f}  ")
        if "feature_norm" in info:
            parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print("".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        """Print precision, recall and F1 of the labels after the last iteration."""
        last = self.logparser.last_iteration if self.logparser else None
        if last and last["scores"]:
            rows = [
                [label, *(f"{share or 0:0.3f}" for share in (own.precision, own.recall, own.f1)), str(own.ref)]
                for label, own in sorted(last["scores"].items())
            ]
            print(table(["Label", "Precision", "Recall", "F1", "Support"], rows))
        super().on_optimization_end(log)
