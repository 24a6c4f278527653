import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage earlier, for the rest of the process.
 * A reconcile run discards millions of answers. On a machine with much memory, V8 would free these answers late.
 * A run with 8,000 submissions was measured: it used 237 MB instead of 300 MB, and took the same time.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
