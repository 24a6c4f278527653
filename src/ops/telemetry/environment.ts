export type Environment = Readonly<Record<string, string | undefined>>

export interface Signals {
  readonly traces: boolean
  readonly metrics: boolean
}

/** @returns the signals that the environment enables. A signal is on if it has an endpoint and isn't turned off. */
export function signalsIn(env: Environment): Signals {
  const isOn = (signal: 'TRACES' | 'METRICS') =>
    env['OTEL_SDK_DISABLED']?.toLowerCase() !== 'true' &&
    env[`OTEL_${signal}_EXPORTER`] !== 'none' &&
    Boolean(env['OTEL_EXPORTER_OTLP_ENDPOINT'] || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`])
  return { traces: isOn('TRACES'), metrics: isOn('METRICS') }
}

/** @returns the number in a variable; undefined if the variable is unset, negative or not a number. */
export function numberIn(env: Environment, name: string): number | undefined {
  const text = env[name]?.trim()
  const number = Number(text)
  return text && Number.isFinite(number) && number >= 0 ? number : undefined
}
