import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage earlier, for the rest of the process.
 * A reconcile run discards each answer after use. On a machine with much memory, V8 would free these answers late.
 * A measured run with 8,000 submissions used 237 MB instead of 300 MB, and took the same time.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
