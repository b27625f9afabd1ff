import fs from "node:fs";
export function push(item) {
  return item;
}
const pop = () => null;
class Queue {
}
