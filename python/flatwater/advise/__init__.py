"""What to change first: rules that turn measured evidence into advice.

advice.py    one piece of advice: finding, change, effect with its interval, risk, source, confidence
rule.py      what a rule is and what it sees; rules/ has one file a rule
dialect.py   the names of settings of one flavour and version
redo_log.py  how large the redo log is, and the setting that says so
inside.py    sessions that wait for each other inside the server
storage.py   whether the storage is flash, and whether it idles
judged.py    rules that lack what they look at
adviser.py   asks every rule about a cell, and ranks what they say
effects/     what each change is expected to do: from the model of a modelled run, from the twin of a measured one
changed.py   the experiment of a cell with a change
verify.py    runs the changed experiment, and compares
"""

from flatwater.advise.advice import Advice, Change, Effect
from flatwater.advise.adviser import Consultation, consult
from flatwater.advise.effects import with_effects
from flatwater.advise.verify import Verified, verify

__all__ = ["Advice", "Change", "Consultation", "Effect", "Verified", "consult", "verify", "with_effects"]
