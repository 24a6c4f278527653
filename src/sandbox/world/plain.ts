/** Any JSON value. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainObject
export interface PlainObject {
  readonly [key: string]: Plain
}

/** @returns the record's own value of that name. Inherited names such as `constructor` give undefined. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets an own property, even if its name is `__proto__`. */
export function setOwnValue<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, configurable: true, enumerable: true, writable: true })
}
