import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client'
import type { Endpoint, Tokens } from './dialog'

export interface Price {
  input: number
  cached_input: number
  cache_write: number
  cache_write_1h: number
  output: number
}

export interface Caller {
  id: string
  user_path: string
  models: { name: string; group: boolean; endpoints: Endpoint[]; deployments: string[] }[]
  prices: Record<string, Price | null>
}

// useCaller asks whom a key belongs to and what it may use. The key is sent in
// the body: it stays out of addresses.
export function useCaller(key: string) {
  return useQuery({
    queryKey: ['caller', key],
    queryFn: async ({ signal }) => (await call<Caller>('/console/caller', { method: 'POST', body: { key }, signal })).value,
    enabled: key !== '',
    retry: false,
    staleTime: 60_000,
  })
}

// cost is what tokens cost at a deployment's prices, in USD; null where a price
// is not known.
export function cost(tokens: Tokens | null, price: Price | null | undefined): number | null {
  if (!tokens || !price) return null
  return (tokens.fresh * price.input + tokens.cached * price.cached_input + tokens.written * price.cache_write +
    tokens.written1h * price.cache_write_1h + tokens.output * price.output) / 1e6
}
