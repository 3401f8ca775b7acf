"""`tagwright import`: models of other tools."""

from __future__ import annotations

import click

from tagwright.cli.options import FILE
from tagwright.cli.overwriting import check_model_target
from tagwright.data.output import is_stream
from tagwright.models.foreign import import_model
from tagwright.models.summary import summary
from tagwright.table import table


@click.command("import")
@click.argument("source", type=FILE)
@click.option("-o", "--output", "model", type=click.Path(), required=True, help="Where to write the model.")
@click.option("--force", is_flag=True, help="Overwrite an existing file that is not a tagwright model.")
@click.option("-q", "--quiet", is_flag=True, help="Do not describe the model.")
def import_(source: str, model: str, force: bool, quiet: bool) -> None:
    """Convert SOURCE, a model of CRFsuite, CRF++ or Wapiti, to a tagwright model.

    CRFsuite: model files of python-crfsuite, and pickled estimators of sklearn-crfsuite, which are searched for the
    model file inside and never unpickled. CRF++: binary models, and text from crf_learn -t. Wapiti: CRF, maxent and
    MEMM. All may be compressed with gzip.

    \b
    Example:
      tagwright import address.crfsuite -o address.safetensors
    """
    check_model_target(model, [source], force)
    imported = import_model(source)
    imported.save(model)
    if not quiet:
        click.echo(table([model, ""], summary(imported)), err=is_stream(model))
