"""Mistakes of run folders, checkpoints, agents' files and what reads them."""

from tests.mutants.mutant import Mutant

CHECKPOINTS = "tests/runs/test_checkpoints.py"
STRANGERS = "tests/runs/test_strangers_checkpoints.py"
AGENTS = "tests/agents/test_strangers_agents.py"
TENSORS = "tests/storage/test_strangers_tensors.py"

MUTANTS = [
    Mutant(
        "checkpoints whose checksum nobody compares",
        "asynccfr/runs/checkpoints.py",
        'if hashlib.file_digest(file, "blake2b").hexdigest() != manifest.blake2b.get(name):',
        "if name not in manifest.blake2b:",
        f"{CHECKPOINTS} -k gives_way",
    ),
    Mutant(
        "the damaged checkpoint is kept in place of the good one",
        "asynccfr/runs/checkpoints.py",
        "previous = self._good if self._good in earlier else max(earlier, default=None)",
        "previous = max(earlier, default=None)",
        f"{CHECKPOINTS} -k pruning",
    ),
    Mutant(
        "defaults are not filled before runs are compared",
        "asynccfr/runs/checkpoints.py",
        "changed = difference(resolve(manifest.config), config)",
        "changed = difference(manifest.config, config)",
        f"{STRANGERS} -k has_its_default",
    ),
    Mutant(
        "a checkpoint that is not finite is taken up",
        "asynccfr/solvers/parts.py",
        'if found.dtype.kind == "f" and not np.isfinite(found).all():',
        'if found.dtype.kind == "c":',
        f"{STRANGERS} -k go_on_from",
    ),
    Mutant(
        "actions beyond the game's are taken up",
        "asynccfr/learning/reservoir.py",
        '("actions", -1, self.num_actions - 1),',
        '("actions", -1, self.num_actions),',
        f"{STRANGERS} -k go_on_from",
    ),
    Mutant(
        "weights that are not finite play",
        "asynccfr/agents/agent.py",
        "if not np.isfinite(array).all():",
        "if np.isinf(array).all():",
        f"{AGENTS} -k not_finite",
    ),
    Mutant(
        "arrays may overlap in a file",
        "asynccfr/storage/tensors.py",
        "if start != expected_start or not start <= end <= len(data):",
        "if not start <= end <= len(data):",
        TENSORS,
    ),
    Mutant(
        "compiled code is given what is not aligned",
        "asynccfr/storage/tensors.py",
        "array = array.copy()",
        "array = array[:]",
        f"{TENSORS} -k aligned",
    ),
]
