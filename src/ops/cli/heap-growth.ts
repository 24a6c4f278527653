import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage earlier, for the rest of the process. A reconcile run drops millions of answers; on a machine with much memory
 * V8 would let them pile up first. Measured over 8,000 submissions: 237 MB instead of 300, of which 33 are alive, and no slower.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
