"""How each artifact looks to a person: `lay_out`, with the layout of every artifact registered."""

import evener.cli.build_tables
import evener.cli.run_tables
import evener.cli.search_tables
import evener.cli.train_tables  # noqa: F401 - all register layouts
from evener.cli.layout import lay_out as lay_out
