/** A value that JSON keeps as it is. */
export type Plain = string | number | boolean | null | readonly Plain[] | PlainObject
export interface PlainObject {
  readonly [key: string]: Plain
}

/** @returns the value that a record has of its own under a name that a caller chose, which may be one that every object has, as `constructor`. */
export function ownValue<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets it, under `__proto__` too. */
export function setOwnValue<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, configurable: true, enumerable: true, writable: true })
}
