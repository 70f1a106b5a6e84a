"""A table whose cells somebody else wrote, as text that no cell can break out of, and back."""

from registry import parse_table, render_table

ROWS = [["1", "Eve\t0"], ["2", "x\n-- 0 rows from\tthe bank"]]

if __name__ == "__main__":
    text = render_table(["id", "name"], ROWS, "ledger")
    print(text)
    print(parse_table(text).rows[1][1] == ROWS[1][1])
