import json
from dataclasses import dataclass

LIMIT = 5

@dataclass
class Job:
    id: int

    def run(self):
        return json.dumps(self.id)

async def drain(queue, *, limit=LIMIT):
    pass

def main() -> None:
    pass
