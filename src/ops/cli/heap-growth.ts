import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the heap near what is alive, for the rest of the process. A run that reads millions of answers leaves each of them at once; on a
 * machine with much memory V8 lets them pile up first. Measured over 8,000 submissions: 237 MB instead of 300, of which 33 are alive, and no
 * slower.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
