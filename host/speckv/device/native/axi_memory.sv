// A memory behind an AXI4 port, with the latency and the bandwidth of a link. Simulation only.
//
// The data lives outside (see axi_memory.h): a handle names it, so several memories live in one process. Bursts are served in
// order. `latency` is the number of cycles from an address to the first beat, and from the last beat to the write's
// answer. `rate` is the bandwidth in beats per 1024 cycles, of each direction by itself; 1024 is one beat per cycle.
// With `shared` both directions draw from one allowance, as they do on a memory's data bus.
`default_nettype none
module axi_memory #(
    parameter int DATA_BITS = 512,  // of a beat
    parameter int OUTSTANDING = 64  // bursts of each direction that wait
) (
    input  wire                    clk,
    input  wire                    rst_n,
    input  wire  [31:0]            handle,
    input  wire  [15:0]            latency,
    input  wire  [10:0]            rate,
    input  wire                    shared,

    input  wire                    ARVALID,
    output logic                   ARREADY,
    input  wire  [63:0]            ARADDR,
    input  wire  [7:0]             ARLEN,
    output logic                   RVALID,
    input  wire                    RREADY,
    output logic [DATA_BITS-1:0]   RDATA,
    output logic [1:0]             RRESP,
    output logic                   RLAST,

    input  wire                    AWVALID,
    output logic                   AWREADY,
    input  wire  [63:0]            AWADDR,
    input  wire  [7:0]             AWLEN,
    input  wire                    WVALID,
    output logic                   WREADY,
    input  wire  [DATA_BITS-1:0]   WDATA,
    input  wire  [DATA_BITS/8-1:0] WSTRB,
    input  wire                    WLAST,
    output logic                   BVALID,
    input  wire                    BREADY,
    output logic [1:0]             BRESP,

    // totals since reset, for bandwidth figures
    output logic [63:0]            beats_read,
    output logic [63:0]            beats_written
);
  import "DPI-C" function int axi_memory_read(input int handle, input longint address, input int bytes,
                                              output bit [DATA_BITS-1:0] data);
  import "DPI-C" function int axi_memory_write(input int handle, input longint address, input int bytes,
                                               input bit [DATA_BITS-1:0] data, input bit [DATA_BITS/8-1:0] strobes);

  localparam int BYTES = DATA_BITS / 8;
  localparam int INDEX = $clog2(OUTSTANDING);
  localparam int BUDGET = 4 * 1024;  // what an idle link saves up: four beats

  logic [31:0] now;
  always_ff @(posedge clk) now <= rst_n ? now + 1 : 0;

  // ---------------------------------------------------------------------------------------------- bandwidth
  logic [15:0] read_budget, write_budget;
  wire read_pays;  // a beat is fetched
  wire write_pays;
  function automatic logic [15:0] next_budget(input logic [15:0] budget, input logic [10:0] income, input logic [1:0] beats);
    logic [15:0] rest;
    rest = budget - (16'(beats) << 10) + 16'(income);
    return rest > BUDGET ? 16'(BUDGET) : rest;
  endfunction
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      read_budget <= BUDGET;
      write_budget <= BUDGET;
    end else if (shared) begin
      read_budget <= next_budget(read_budget, rate, 2'(read_pays) + 2'(write_pays));
      write_budget <= next_budget(read_budget, rate, 2'(read_pays) + 2'(write_pays));
    end else begin
      read_budget <= next_budget(read_budget, rate, 2'(read_pays));
      write_budget <= next_budget(write_budget, rate, 2'(write_pays));
    end
  end
  // two beats' worth: in shared mode both directions may pay in one cycle
  wire read_affordable = read_budget >= (shared ? 2048 : 1024);
  wire write_affordable = write_budget >= (shared ? 2048 : 1024);

  // ------------------------------------------------------------------------------------------------- reads
  typedef struct packed {
    logic [63:0] address;
    logic [7:0]  more;   // beats after this one
    logic [31:0] ready;  // cycle of the first beat
  } burst_t;
  burst_t reads[OUTSTANDING];
  logic [INDEX:0] reads_in, reads_out;
  wire [INDEX:0] reads_held = reads_in - reads_out;
  burst_t read;
  logic read_active;
  assign ARREADY = rst_n && reads_held < OUTSTANDING;

  wire read_wait_over = $signed(now - read.ready) >= 0;
  wire may_load = read_active && read_wait_over && (!RVALID || RREADY) && read_affordable;
  assign read_pays = may_load;
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      reads_in <= 0;
      reads_out <= 0;
      read_active <= 0;
      RVALID <= 0;
      beats_read <= 0;
    end else begin
      if (ARVALID && ARREADY) begin
        reads[reads_in[INDEX-1:0]] <= '{ARADDR, ARLEN, now + 32'(latency)};
        reads_in <= reads_in + 1;
      end
      if (RVALID && RREADY) begin
        RVALID <= 0;
        beats_read <= beats_read + 1;
      end
      if (may_load) begin
        bit [DATA_BITS-1:0] data;
        RRESP <= 2'(axi_memory_read(handle, read.address, BYTES, data));
        RDATA <= data;
        RLAST <= read.more == 0;
        RVALID <= 1;
        read.address <= (read.address & ~64'(BYTES - 1)) + 64'(BYTES);
        read.more <= read.more - 1;
      end
      if ((!read_active || (may_load && read.more == 0)) && reads_held != 0) begin
        read <= reads[reads_out[INDEX-1:0]];
        reads_out <= reads_out + 1;
        read_active <= 1;
      end else if (may_load && read.more == 0) begin
        read_active <= 0;
      end
    end
  end

  // ------------------------------------------------------------------------------------------------ writes
  burst_t writes[OUTSTANDING];
  logic [INDEX:0] writes_in, writes_out;
  wire [INDEX:0] writes_held = writes_in - writes_out;
  burst_t write;
  logic write_active;
  logic [1:0] write_response;
  typedef struct packed {
    logic [31:0] ready;
    logic [1:0]  response;
  } answer_t;
  answer_t answers[OUTSTANDING];
  logic [INDEX:0] answers_in, answers_out;
  wire [INDEX:0] answers_held = answers_in - answers_out;
  wire answer_t answer = answers[answers_out[INDEX-1:0]];
  assign AWREADY = rst_n && writes_held < OUTSTANDING;
  assign WREADY = write_active && write_affordable && answers_held < OUTSTANDING;
  assign write_pays = WVALID && WREADY;
  assign BVALID = answers_held != 0 && $signed(now - answer.ready) >= 0;
  assign BRESP = answer.response;
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      writes_in <= 0;
      writes_out <= 0;
      answers_in <= 0;
      answers_out <= 0;
      write_active <= 0;
      write_response <= 0;
      beats_written <= 0;
    end else begin
      if (AWVALID && AWREADY) begin
        writes[writes_in[INDEX-1:0]] <= '{AWADDR, AWLEN, 0};
        writes_in <= writes_in + 1;
      end
      if (WVALID && WREADY) begin
        logic [1:0] response;
        response = 2'(axi_memory_write(handle, write.address, BYTES, WDATA, WSTRB));
        if (write_response > response) response = write_response;
        write_response <= WLAST ? 2'd0 : response;
        write.more <= write.more - 1;
        write.address <= (write.address & ~64'(BYTES - 1)) + 64'(BYTES);
        beats_written <= beats_written + 1;
        if (WLAST) begin
          answers[answers_in[INDEX-1:0]] <= '{now + 32'(latency), response};
          answers_in <= answers_in + 1;
        end
      end
      if ((!write_active || (WVALID && WREADY && WLAST)) && writes_held != 0) begin
        write <= writes[writes_out[INDEX-1:0]];
        writes_out <= writes_out + 1;
        write_active <= 1;
      end else if (WVALID && WREADY && WLAST) begin
        write_active <= 0;
      end
      if (BVALID && BREADY) answers_out <= answers_out + 1;
    end
  end

  // ------------------------------------------------------------------------------------------- rules of AXI4
  // what a memory cannot answer for: bursts across 4 KB, and data that does not end where its burst does
  function automatic logic crosses_4k(input logic [63:0] address, input logic [7:0] more);
    return 32'(address[11:0] & ~12'(BYTES - 1)) + (32'(more) + 1) * BYTES > 4096;
  endfunction
  always_ff @(posedge clk) begin
    if (rst_n) begin
      assert (!(ARVALID && crosses_4k(ARADDR, ARLEN))) else $error("a read burst crosses 4 KB");
      assert (!(AWVALID && crosses_4k(AWADDR, AWLEN))) else $error("a write burst crosses 4 KB");
      assert (!(WVALID && WREADY && WLAST != (write.more == 0))) else $error("WLAST is not at the end of its burst");
    end
  end
endmodule
`default_nettype wire
