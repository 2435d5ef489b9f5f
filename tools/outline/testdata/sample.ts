/* interface Commented {} */
import type { Readable } from "node:stream";

export interface Store<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  size: number;
}

export type Entry<K, V> = { key: K; value: V };

export enum Level {
  Debug,
  Info = "info",
}

export abstract class Base<T> implements Store<string, T> {
  private items = new Map<string, T>();
  size = 0;

  constructor(protected readonly name: string) {}

  get(key: string): T | undefined {
    return this.items.get(key);
  }

  abstract set(key: string, value: T): void;

  static of<T>(this: void, ...items: T[]): Base<T> {
    throw new Error("class No {}");
  }
}

namespace Util {
  export function clamp(n: number, low = 0, high = 1): number {
    return Math.min(Math.max(n, low), high);
  }
}

export const pipe = async (input: Readable): Promise<void> => {
  const inner = () => 1;
};

declare function external(id: string): string;
