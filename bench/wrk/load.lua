-- What wrk sends, as its environment says, and what it found, as one line of JSON.
--
--   LOAD_METHOD   GET or POST
--   LOAD_PATHS    a file with a path to a line; they are asked for in turn
--   LOAD_BODY     a file that holds the body; none if it is empty
--   LOAD_TYPE     the body's media type
--   LOAD_TOKEN    a bearer token; none if it is empty
--   LOAD_NEW      not empty: `{}` in a path is replaced by this and a number that has not been used yet, and so is
--                 `<new>` in a body, by as many characters each time

local ready, next_one = {}, 0
local fresh, filler

local function content(name)
  local path = os.getenv(name)
  if not path or path == "" then return nil end
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function given(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

function init(args)
  local method, body, headers = os.getenv("LOAD_METHOD"), content("LOAD_BODY"), {}
  fresh = given("LOAD_NEW")
  if fresh and body and body:find("<new>", 1, true) then
    filler = string.rep("@", #fresh + 9)
    body = body:gsub("<new>", filler)
  end
  headers["Host"] = wrk.headers["Host"]
  if body then headers["Content-Type"] = os.getenv("LOAD_TYPE") end
  if given("LOAD_TOKEN") then headers["Authorization"] = "Bearer " .. os.getenv("LOAD_TOKEN") end
  for path in content("LOAD_PATHS"):gmatch("[^\n]+") do
    ready[#ready + 1] = wrk.format(method, path, headers, body)
  end
end

function request()
  next_one = next_one + 1
  local chosen = ready[next_one % #ready + 1]
  if not fresh then return chosen end
  if filler then return (chosen:gsub(filler, string.format("%s%09d", fresh, next_one), 1)) end
  return (chosen:gsub("{}", fresh .. next_one, 1))
end

function done(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "seconds": %.3f, "p50": %.3f, "p99": %.3f, "refused": %d, "broken": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    failed.status, failed.connect + failed.read + failed.write + failed.timeout
  ))
end
