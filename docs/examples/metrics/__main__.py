"""Ask a governed catalogue: what it offers is answered with where it comes from, and what it does not is refused."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from connectors import metrics
from registry import Deployment, Registry, run_registry_tool

MONTHS = {"start": "2026-01-01", "end": "2026-03-01"}


def make(path: Path) -> None:
    with duckdb.connect(str(path)) as shop:
        shop.execute("CREATE TABLE orders(day DATE, channel VARCHAR, amount DECIMAL(12, 2))")
        shop.execute("INSERT INTO orders VALUES ('2026-01-31', 'web', 20), ('2026-02-01', 'web', 22.50)")


async def main(path: Path) -> None:
    tools = metrics.tools(
        metrics.read_definitions(Path(__file__).with_name("metrics.toml")),
        sources={"shop": path},
        catalog_prose="quoted",
        digest="e1d8c0d2480bdd27cac63c28436f38e09c06ccd9945bd429e86c0ffee5dc554d",
    )
    deployment = Deployment.single_user(Registry(tools))

    for name, question in (
        ("describe_catalog", {}),
        ("ask_metric", {"metric": "revenue", "grain": "month", "range": MONTHS, "dimensions": ["channel"]}),
        ("ask_metric", {"metric": "revenue", "grain": "year", "range": MONTHS}),
        ("ask_metric", {"metric": "revenue", "grain": "month", "range": {"start": "2026-01-15", "end": "2026-03-01"}}),
        ("ask_metric", {"metric": "revenue", "grain": "month", "range": MONTHS, "sql": "DROP TABLE orders"}),
    ):
        outcome = await run_registry_tool(deployment, name, question)
        print(outcome.text)


with TemporaryDirectory() as folder:
    file = Path(folder) / "shop.duckdb"
    make(file)
    asyncio.run(main(file))
