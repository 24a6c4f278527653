import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage earlier, for the rest of the process.
 * A reconcile run drops millions of answers. On a large machine, V8 would let them pile up.
 * Measured with 8,000 submissions: 237 MB instead of 300 MB, and no slower.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=100')
}
