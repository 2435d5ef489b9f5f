// function commented() {}
import { readFile } from "node:fs/promises";

const text = `function inTemplate() { ${"class No {}".length} }`;
const pattern = /function \/ `inRegexp/;

export class Queue extends Array {
  #size = 0;

  constructor(limit = 10) {
    super();
    if (limit > 3) {
      this.limit = limit;
    }
  }

  static async *drain(queue) {
    for (const item of queue) {
      yield item;
    }
  }

  get size() {
    return this.#size;
  }

  onChange = (event) => {
    this.#size = event.size;
  };
}

export async function load(path, { encoding = "utf8" } = {}) {
  function inner() {}
  return readFile(path, encoding);
}

const double = (n) => n * 2;
export const handler = async function (event) {
  return double(event.n);
};
